#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH -t 2-00:00:00
#SBATCH -p scc-gpu
#SBATCH -G A100:4
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

for module in cuda CUDA nvhpc; do
  if module load "$module" 2>/dev/null; then echo "loaded module $module"; break; fi
done

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

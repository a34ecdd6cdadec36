#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH -A lu2024-2-88
#SBATCH -t 00:05:00
#SBATCH -p gpua100i
#SBATCH --gres=gpu:2
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

for module in CUDA cuda; do
  if module load "$module" 2>/dev/null; then echo "loaded module $module"; break; fi
done

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

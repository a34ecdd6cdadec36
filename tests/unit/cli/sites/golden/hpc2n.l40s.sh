#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH -A hpc2n2024-142
#SBATCH --time=00:30:00
#SBATCH --gpus=1
#SBATCH -C l40s
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

module load GCC/12.3.0 CUDA/12.1.1

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

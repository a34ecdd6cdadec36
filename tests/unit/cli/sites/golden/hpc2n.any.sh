#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH -A naiss2024-22-1493
#SBATCH --time=01:00:00
#SBATCH --gpus=2
#SBATCH -C nvidia_gpu
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

module load GCC/12.3.0 CUDA/12.1.1

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH --time=5-00:00:00
#SBATCH --partition=gpu_a100
#SBATCH --gpus=4
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

module load 2023 CUDA/12.1.1

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda --scratch "/scratch-shared/$USER/hotplate/saved"

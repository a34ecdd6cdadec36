#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH -A naiss2024-22-1493
#SBATCH --time=00:05:00
#SBATCH -n 1
#SBATCH -c 32
#SBATCH --gpus-per-task=1
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

module load buildenv-gcccuda/12.2.2-gcc11-hpc1

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

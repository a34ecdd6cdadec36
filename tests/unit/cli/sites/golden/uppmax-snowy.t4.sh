#!/bin/bash -l
#SBATCH --job-name=hotplate
#SBATCH -A naiss2024-22-1442
#SBATCH -M snowy
#SBATCH -t 01:00:01
#SBATCH -n 1
#SBATCH --gres=gpu:1
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

module load uppmax python/3.11.8 python_ML_packages/3.11.8-gpu

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

#!/bin/bash
#SBATCH --job-name=hotplate
#SBATCH --time=00:30:00
#SBATCH --gres=gpu:2
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60

exec /home/ada/.local/bin/hotplated --directory /home/ada/.hotplate --require-cuda

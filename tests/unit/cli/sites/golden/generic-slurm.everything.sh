#!/bin/bash
#SBATCH --job-name=morning
#SBATCH --account=abc2026-42
#SBATCH --partition=gpu
#SBATCH --time=1-12:00:00
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --exclusive
#SBATCH --gres=gpu:a100:1
#SBATCH --nodes=1
#SBATCH --output=/home/ada/.hotplate/logs/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60
#SBATCH --qos=high
#SBATCH --reservation=course

exec /home/ada/.local/bin/hotplated --name morning --directory /home/ada/.hotplate --require-cuda

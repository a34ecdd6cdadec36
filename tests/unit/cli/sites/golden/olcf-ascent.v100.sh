#!/bin/bash
#BSUB -J hotplate
#BSUB -P TRN003
#BSUB -W 0:45
#BSUB -L /bin/bash
#BSUB -nnodes 1
#BSUB -o /gpfs/wolf/ada/hotplate/logs/lsf-%J.out
#BSUB -wa TERM
#BSUB -wt 2

module load gcc/7.4.0 cuda/11.0.2
export CUDA_CACHE_PATH="$MEMBERWORK/TRN003/hotplate/cuda"

exec jsrun -n1 -a1 -c42 -g6 -brs /home/ada/.local/bin/hotplated --name "olcf-ascent-$LSB_JOBID" --directory /gpfs/wolf/ada/hotplate --require-cuda --listen 0.0.0.0 --scratch "$MEMBERWORK/TRN003/hotplate/saved"

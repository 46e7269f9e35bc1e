// One kernel of CUDA-L2 as a library: HGEMM_L2_FILE is its file in the user's checkout.
#include "torch/extension.h"
// After it, because it replaces what that file would take from PyTorch.
#include HGEMM_L2_FILE

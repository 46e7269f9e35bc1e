/* Runs the tuned GEMMs of a bundle, the file that `hgemm-tune export --format bundle` writes. Needs
 * the driver alone: no compiler, no CUDA runtime. libhgemm_tune.so loads without a driver, too.
 *
 * Problems and operands are those of hgemm_tuned_types.h. Each function but those that return a
 * text returns 0, or a hgemm_tuned_status, or a hgemm_bundle_status. None is fatal: whatever is
 * not 0, nothing was enqueued, and the caller's own library computes the product. All may be called
 * from several threads at once, except that what is closed or destroyed may not be in use.
 *
 *   hgemm_bundle* bundle;
 *   if (hgemm_bundle_open("tuned.hgb", &bundle) != 0) puts(hgemm_bundle_error());
 *   hgemm_bundle_prepare(bundle, device, 0);
 *   hgemm_bundle_plan_create(bundle, device, &problem, weight, 0, &plan);       for each weight
 *   hgemm_bundle_plan_launch(plan, stream, m, &operands, workspace, bytes);     for each call
 */
#ifndef HGEMM_BUNDLE_H_
#define HGEMM_BUNDLE_H_

#include <stddef.h>
#include <stdint.h>

#include "hgemm_tuned_types.h"

#if defined(__GNUC__)
#define HGEMM_BUNDLE_API __attribute__((visibility("default")))
#else
#define HGEMM_BUNDLE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What can go wrong beside hgemm_tuned_status. */
typedef enum {
  HGEMM_BUNDLE_NO_FILE = 32,       /* the file cannot be read */
  HGEMM_BUNDLE_NOT_A_BUNDLE = 33,  /* it is some other file */
  HGEMM_BUNDLE_DAMAGED = 34,       /* it is not what was written */
  HGEMM_BUNDLE_OTHER_VERSION = 35, /* a version of hgemm-tune wrote it that does not fit */
  HGEMM_BUNDLE_NO_DRIVER = 36,     /* there is no libcuda.so.1, or it finds no GPU */
  HGEMM_BUNDLE_CANNOT_RUN = 37,    /* the GPU is not an sm_90 */
  HGEMM_BUNDLE_OLD_DRIVER = 38,    /* the driver is older than the CUDA that made the kernels */
  HGEMM_BUNDLE_OTHER_GPU = 39,     /* another GPU than the one on which kernels were chosen */
  HGEMM_BUNDLE_OTHER_DRIVER = 40,  /* another branch of the driver */
  HGEMM_BUNDLE_NOT_PREPARED = 41,  /* hgemm_bundle_prepare() was not called for the device, or the
                                      device was reset since: open the bundle again */
  HGEMM_BUNDLE_NO_GAIN = 42,       /* a kernel computes it, but was not measured to be faster */
  HGEMM_BUNDLE_DRIVER_ERROR = 43,  /* hgemm_bundle_error() has the driver's words */
  HGEMM_BUNDLE_SMALL_BUFFER = 44,  /* the text needs more bytes, which were written to *bytes */
  HGEMM_BUNDLE_BAD_ARGUMENT = 45,
  HGEMM_BUNDLE_NO_MEMORY = 46,
  HGEMM_BUNDLE_NOT_TUNED = 47 /* a kernel computes it, but no problem near it was tuned */
} hgemm_bundle_status;

/* Flags of hgemm_bundle_check() and hgemm_bundle_prepare(): run the kernels nevertheless. Results
 * are right then, too, but which kernel is the fastest was measured elsewhere. */
enum { HGEMM_BUNDLE_ANY_GPU = 1, HGEMM_BUNDLE_ANY_DRIVER = 2 };

/* Flags of hgemm_bundle_plan_create(): only what was measured to be faster than cuBLAS is launched.
 * Where the kernel of this N and K, and of this M or the next larger one within a factor of four,
 * was not, a launch returns HGEMM_BUNDLE_NO_GAIN. Where none was tuned it returns
 * HGEMM_BUNDLE_NOT_TUNED, and is a miss. Where one was tuned that does not take the operands'
 * addresses, it returns HGEMM_TUNED_MISALIGNED. A batch-invariant bundle (batch_invariant in its
 * manifest) launches its kernels at every M of the N and K that were tuned, gain or not. */
enum { HGEMM_BUNDLE_ONLY_GAINS = 1 };

typedef struct hgemm_bundle hgemm_bundle;
typedef struct hgemm_bundle_plan hgemm_bundle_plan;

/* Rises when a function changes so that callers must, too. */
enum { HGEMM_BUNDLE_ABI = 1 };
HGEMM_BUNDLE_API int hgemm_bundle_abi(void);

/* What a status means, in English; never null, for any number. */
HGEMM_BUNDLE_API const char* hgemm_bundle_status_string(int status);
/* What the last function of this thread that did not return 0 found, in one sentence. Valid until
 * the next such one. */
HGEMM_BUNDLE_API const char* hgemm_bundle_error(void);

/* Reads a bundle and checks every byte of it. Needs no driver. */
HGEMM_BUNDLE_API int hgemm_bundle_open(const char* path, hgemm_bundle** bundle);
/* Frees it and its kernels. Its plans must have been destroyed, and its launches have ended. */
HGEMM_BUNDLE_API void hgemm_bundle_close(hgemm_bundle* bundle);
/* The manifest, JSON: valid_for, kernels and rows. Valid until the bundle is closed. */
HGEMM_BUNDLE_API const char* hgemm_bundle_manifest(const hgemm_bundle* bundle);

/* The rows of the table: problems that were tuned. `index` from 0 to count - 1. */
HGEMM_BUNDLE_API int hgemm_bundle_shape_count(const hgemm_bundle* bundle);
HGEMM_BUNDLE_API int hgemm_bundle_shape(const hgemm_bundle* bundle, int index,
                                        hgemm_tuned_problem* problem);
/* The kernel that computes a problem with operands at multiples of 16 bytes, and why. Returns the
 * selection's status. Needs no driver, and counts no miss. The label is valid until the bundle is
 * closed. */
HGEMM_BUNDLE_API int hgemm_bundle_select(const hgemm_bundle* bundle,
                                         const hgemm_tuned_problem* problem,
                                         hgemm_tuned_selection* selection);

/* A device and its driver, as hgemm_bundle_prepare() finds them. */
typedef struct {
  const char* gpu_name;
  int32_t compute_major, compute_minor, sm_count;
  const char* driver;  /* "580.159.04"; null or "": not known */
  int32_t driver_cuda; /* as cuDriverGetVersion() says: 13000 of 13.0 */
} hgemm_bundle_device;
/* Whether the bundle is valid for such a device. Needs no driver. */
HGEMM_BUNDLE_API int hgemm_bundle_check(const hgemm_bundle* bundle,
                                        const hgemm_bundle_device* device, unsigned flags);

/* Loads all kernels into the primary context of a device, once it is one that the bundle is valid
 * for. Takes milliseconds, and may wait for the device: call it before a capture. A second call for
 * a device returns at once. */
HGEMM_BUNDLE_API int hgemm_bundle_prepare(hgemm_bundle* bundle, int device, unsigned flags);

/* A weight's plan, for a device that is prepared: B's tensor maps are encoded when a kernel is
 * first needed, and only A's, D's and the grid change from call to call. The problem's `m` is not
 * read. `b` must stay where it is until the plan is destroyed. */
HGEMM_BUNDLE_API int hgemm_bundle_plan_create(hgemm_bundle* bundle, int device,
                                              const hgemm_tuned_problem* problem, const void* b,
                                              unsigned flags, hgemm_bundle_plan** plan);
HGEMM_BUNDLE_API void hgemm_bundle_plan_destroy(hgemm_bundle_plan* plan);
/* Bytes of workspace that a launch with `m` rows needs; often 0. A workspace may be larger. Returns
 * why nothing would be launched at operands that lie at multiples of 16 bytes. */
HGEMM_BUNDLE_API int hgemm_bundle_plan_workspace_bytes(hgemm_bundle_plan* plan, int64_t m,
                                                       size_t* bytes);
/* The same for operands wherever they lie: between two multiples of 16 bytes another kernel may
 * take them, which packs them in its workspace first. Those that are null lie at multiples. `b` is
 * not read. */
HGEMM_BUNDLE_API int hgemm_bundle_plan_workspace_bytes_at(hgemm_bundle_plan* plan, int64_t m,
                                                          const hgemm_tuned_operands* operands,
                                                          size_t* bytes);
/* Counts a miss as a launch does: for callers that have asked before, and do not launch. The plan
 * knows the problem, so it is faster than hgemm_bundle_count_misses(). */
HGEMM_BUNDLE_API int hgemm_bundle_plan_count_miss(hgemm_bundle_plan* plan, int64_t m);
/* Makes `bytes` of device memory a workspace, with one memset on the stream (a CUstream or
 * cudaStream_t of the device). It begins at a multiple of 256 bytes. To be called once for each
 * allocation, before its first use. A launch leaves a workspace ready for the next one, of any plan
 * of the bundle; launches that can overlap need workspaces of their own. */
HGEMM_BUNDLE_API int hgemm_bundle_init_workspace(hgemm_bundle* bundle, int device, void* stream,
                                                 void* workspace, size_t bytes);
/* The memory is no workspace any more: to be called before the caller frees or gives away what the
 * call above was given. What was enqueued with it, or captured, may still run. */
HGEMM_BUNDLE_API int hgemm_bundle_forget_workspace(hgemm_bundle* bundle, int device,
                                                   const void* workspace);
/* Allocates a workspace with the driver and makes it one, as the call above. Not to be called for a
 * stream that is being captured. Freeing it waits for the device. */
HGEMM_BUNDLE_API int hgemm_bundle_new_workspace(hgemm_bundle* bundle, int device, void* stream,
                                                size_t bytes, void** workspace);
HGEMM_BUNDLE_API int hgemm_bundle_free_workspace(hgemm_bundle* bundle, int device, void* workspace);
/* Enqueues the GEMM. The operands' `b` is not read: it is the plan's. Allocates no device memory,
 * waits for nothing, and may be captured into a CUDA graph. */
HGEMM_BUNDLE_API int hgemm_bundle_plan_launch(hgemm_bundle_plan* plan, void* stream, int64_t m,
                                              const hgemm_tuned_operands* operands, void* workspace,
                                              size_t workspace_bytes);

/* What a launch of a plan with these flags would return for a problem, whose `m` is read, at
 * operands that lie at multiples of 16 bytes. Needs no driver, and counts no miss. */
HGEMM_BUNDLE_API int hgemm_bundle_status_of(const hgemm_bundle* bundle,
                                            const hgemm_tuned_problem* problem, unsigned flags);
/* Counts what `count` such launches would, if they are misses: for callers that have asked, and
 * compute the problem in another way from then on. */
HGEMM_BUNDLE_API int hgemm_bundle_count_misses(hgemm_bundle* bundle,
                                               const hgemm_tuned_problem* problem, unsigned flags,
                                               int64_t count);

/* The misses: problems that no kernel computes, or that were not tuned where only gains are wanted,
 * with the number of their launches, as a YAML file that `hgemm-tune --misses` reads. *bytes is the
 * number of bytes of the text with the zero at its end; it is written to `text` if `capacity` is
 * that or more. */
HGEMM_BUNDLE_API int hgemm_bundle_misses(const hgemm_bundle* bundle, char* text, size_t capacity,
                                         size_t* bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* HGEMM_BUNDLE_H_ */

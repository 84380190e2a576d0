/*
 * A device that is a GPU, through the CUDA driver that the process has already.
 *
 * The driver is found by dlopen ("libcuda.so.1", already loaded by PyTorch), never
 * linked, and never unloaded. Memory comes from cuMemAlloc (segments) and from the
 * virtual memory calls (reservations, pages), in the primary context, whichever thread
 * calls. Calls made while the thread captures a graph go through relaxed capture mode.
 * Once the driver has shut down (the process exits) every call still returns and does
 * nothing.
 *
 * Calls are made with the lock of the device's policy held, but for those that wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/device.h"

typedef struct TesseraCuda TesseraCuda;
typedef struct TesseraCudaEvent TesseraCudaEvent; /* without timing; pooled */

/* TESSERA_REFUSED and a sentence where there is no driver, or it lacks a call. */
TESSERA_MUST_USE TesseraStatus tessera_cuda_open (int ordinal,
                                                  TesseraError *error,
                                                  TesseraCuda **out_cuda);
/* Memory stays with the device. NULL is fine. */
void tessera_cuda_close (TesseraCuda *cuda);

/* Borrowed. */
TesseraDevice *tessera_cuda_device (TesseraCuda *cuda);

/* Who knows the streams, for what the device's policy asks; each may be NULL. */
typedef struct
{
  void (*synchronize) (void *user); /* as in TesseraVirtual */
  /* For barriers: whether all work on the device is of this context's streams, none of
   * which captures a graph, as far as is known for a request on @stream; its handle. */
  bool (*may_mark) (void *user, uint32_t stream);
  uint64_t (*handle_of) (void *user, uint32_t stream);
  void *user;
} TesseraCudaOwner;
/* Copied; nobody at first. */
void tessera_cuda_set_owner (TesseraCuda *cuda, const TesseraCudaOwner *owner);

/* Memory of the device, and what the driver has left of it; 0 where it does not say. */
void tessera_cuda_memory (TesseraCuda *cuda,
                          uint64_t *out_total_bytes,
                          uint64_t *out_free_bytes);

/* The program freed [addr, addr + n_bytes). Nothing but where nothing computes: values
 * that the null CUDA keeps by address then do not outlive what they were sent for, and do
 * not depend on who gets the address next. */
void tessera_cuda_forget (TesseraCuda *cuda, uint64_t addr, uint64_t n_bytes);

/* Events. Record returns NULL where the driver refuses (or ends): the caller then waits
 * for the stream before it believes anything. */
TesseraCudaEvent *tessera_cuda_event_record (TesseraCuda *cuda, uint64_t stream);
/* Also once the driver has shut down: nothing computes any more. */
bool tessera_cuda_event_is_done (TesseraCuda *cuda, TesseraCudaEvent *event);
/* The host waits. Returns: whether it is done; not where the driver refuses, as for an
 * event that a capture swallowed. */
TESSERA_MUST_USE bool tessera_cuda_event_wait (TesseraCuda *cuda,
                                               TesseraCudaEvent *event);
void tessera_cuda_event_release (TesseraCuda *cuda, TesseraCudaEvent *event);
/* Whether the driver has what the next two need (CUDA 12.5 and later). Else they refuse. */
bool tessera_cuda_can_order (const TesseraCuda *cuda);
/* What tells the stream from one that had its handle before; 0: the driver does not say. */
uint64_t tessera_cuda_stream_id (TesseraCuda *cuda, uint64_t stream);
/* An event for all work that the context's streams were given so far, by whomever; NULL
 * where the driver refuses. Never while any stream of the context captures, in whatever
 * thread: the driver would refuse, and end that capture. */
TesseraCudaEvent *tessera_cuda_event_record_all (TesseraCuda *cuda);
/* What @stream is given from now on waits for the event, on the device; the host does not.
 * The event may be released at once: the wait is for what it was recorded for. Returns:
 * whether that holds; not where the driver refuses. Not while @stream captures. */
TESSERA_MUST_USE bool
tessera_cuda_event_order (TesseraCuda *cuda, TesseraCudaEvent *event, uint64_t stream);
/* Also where the driver would not say, as for the legacy stream while another captures.
 */
bool tessera_cuda_stream_is_capturing (TesseraCuda *cuda, uint64_t stream);
/* The host waits. Returns: whether all that the stream was given is done. */
TESSERA_MUST_USE bool tessera_cuda_stream_wait (TesseraCuda *cuda, uint64_t stream);

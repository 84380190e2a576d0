/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/private.h"

#include <stdlib.h>

enum
{
  CAPTURE_NONE = 0,
  CAPTURE_ACTIVE = 1,
  CAPTURE_INVALIDATED = 2,
};

/* A graph and the executables made from it share this. */
struct NullGraph
{
  NullSlabHead head;
  unsigned n_references;
  unsigned long long id; /* of the capture, from 1 */
  double ns;             /* of all its work, one after the other */
  size_t n_nodes;
  bool is_invalid; /* its capture can only be ended */
};

static NullSlab graphs = { 0x1e2000000000, sizeof (NullGraph), NULL, 0, 0 };
static unsigned long long n_captures;
static _Thread_local int thread_mode; /* cudaStreamCaptureMode of unsafe calls */

static NullGraph *
find (void *handle)
{
  return null_slab_has (&graphs, handle) ? handle : NULL;
}

void
null_graph_add (NullGraph *graph, double ns)
{
  graph->ns += ns;
  graph->n_nodes++;
}

unsigned long long
null_graph_id (const NullGraph *graph)
{
  return graph->id;
}

void
null_graph_join (NullStream *stream, unsigned long long capture_id)
{
  for (NullGraph *graph = NULL;
       stream->capture == NULL && (graph = null_slab_next (&graphs, graph)) != NULL;)
    if (graph->id == capture_id && graph->n_references == 0)
      stream->capture = graph;
}

bool
null_graph_invalidate (int device)
{
  bool has_captures = false;
  for (NullStream *stream = NULL; (stream = null_stream_next (stream)) != NULL;)
    if (stream->device == device && stream->capture != NULL)
      {
        stream->capture->is_invalid = true;
        has_captures = true;
      }
  return has_captures;
}

static int
capture_status (const NullGraph *graph)
{
  return graph == NULL       ? CAPTURE_NONE
         : graph->is_invalid ? CAPTURE_INVALIDATED
                             : CAPTURE_ACTIVE;
}

/* References: 0 while it is captured, then one by the graph and one by each executable.
 */
NULL_API (int, cudaGraphDestroy, void *handle)
{
  null_clock_lock ();
  NullGraph *graph = find (handle);
  if (graph != NULL && --graph->n_references == 0)
    null_slab_give (&graphs, graph);
  null_clock_unlock ();
  return null_report (graph != NULL ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

NULL_ALSO (cudaGraphExecDestroy, cudaGraphDestroy);

NULL_API (int, cudaStreamBeginCapture, void *handle, int mode)
{
  null_clock_lock ();
  NullStream *stream = (uintptr_t) handle == 0 ? NULL : null_stream_find (handle);
  int error =
      stream == NULL || stream->capture != NULL ? NULL_CAPTURE_UNSUPPORTED : NULL_OK;
  NullGraph *graph = error == NULL_OK ? null_slab_take (&graphs) : NULL;
  if (graph != NULL)
    {
      graph->id = ++n_captures;
      stream->capture = graph;
      stream->began_capture = true;
    }
  else if (error == NULL_OK)
    error = NULL_OUT_OF_MEMORY;
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_API (int, cudaStreamEndCapture, void *handle, void **out_graph)
{
  null_clock_lock ();
  NullStream *stream = null_stream_find (handle);
  bool is_valid = stream != NULL && stream->capture != NULL && stream->began_capture;
  int error = is_valid ? NULL_OK : NULL_CAPTURE_UNMATCHED;
  *out_graph = NULL;
  if (is_valid)
    {
      NullGraph *graph = stream->capture;
      graph->n_references = 1;
      for (NullStream *each = NULL; (each = null_stream_next (each)) != NULL;)
        if (each->capture == graph)
          {
            each->capture = NULL;
            each->began_capture = false;
          }
      error = graph->is_invalid ? NULL_CAPTURE_INVALIDATED : NULL_OK;
      *out_graph = graph->is_invalid ? NULL : graph;
      if (graph->is_invalid)
        null_slab_give (&graphs, graph);
    }
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_API (int, cudaStreamIsCapturing, void *handle, int *out_status)
{
  null_clock_lock ();
  const NullStream *stream = null_stream_find (handle);
  *out_status = capture_status (stream != NULL ? stream->capture : NULL);
  null_clock_unlock ();
  return null_report (stream != NULL ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

NULL_ALSO (cuStreamIsCapturing, cudaStreamIsCapturing);

/* As CUDA 12 has it; dependencies are not kept. */
NULL_API (int,
          cudaStreamGetCaptureInfo_v2,
          void *handle,
          int *out_status,
          unsigned long long *out_id,
          void **out_graph,
          const void **out_dependencies,
          size_t *out_n_dependencies)
{
  null_clock_lock ();
  const NullStream *stream = null_stream_find (handle);
  NullGraph *graph = stream != NULL ? stream->capture : NULL;
  *out_status = capture_status (graph);
  if (out_id != NULL)
    *out_id = graph != NULL ? graph->id : 0;
  if (out_graph != NULL)
    *out_graph = graph;
  if (out_dependencies != NULL)
    *out_dependencies = NULL;
  if (out_n_dependencies != NULL)
    *out_n_dependencies = 0;
  null_clock_unlock ();
  return null_report (stream != NULL ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

/* With the data of edges: _v3 in CUDA 12, without a suffix in CUDA 13. */
NULL_API (int,
          cudaStreamGetCaptureInfo_v3,
          void *handle,
          int *out_status,
          unsigned long long *out_id,
          void **out_graph,
          const void **out_dependencies,
          const void **out_edges,
          size_t *out_n_dependencies)
{
  if (out_edges != NULL)
    *out_edges = NULL;
  return cudaStreamGetCaptureInfo_v2 (handle, out_status, out_id, out_graph,
                                      out_dependencies, out_n_dependencies);
}

NULL_ALSO (cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3);
NULL_ALSO (cuStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2);
NULL_ALSO (cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo_v3);

NULL_API (int, cudaThreadExchangeStreamCaptureMode, int *inout_mode)
{
  int before = thread_mode;
  thread_mode = *inout_mode;
  *inout_mode = before;
  return NULL_OK;
}

NULL_ALSO (cuThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode);

NULL_API (int, cudaGraphInstantiate, void **out_executable, void *handle)
{
  null_clock_lock ();
  NullGraph *graph = find (handle);
  if (graph != NULL)
    graph->n_references++;
  *out_executable = graph;
  null_clock_unlock ();
  return null_report (graph != NULL ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

NULL_ALSO (cudaGraphInstantiateWithFlags, cudaGraphInstantiate);

NULL_API (int, cudaGraphLaunch, void *executable, void *stream_handle)
{
  null_clock_lock ();
  const NullGraph *graph = find (executable);
  NullStream *stream = null_stream_find (stream_handle);
  bool is_valid = graph != NULL && stream != NULL;
  if (is_valid)
    null_stream_queue (stream, graph->ns);
  null_clock_unlock ();
  return null_report (is_valid ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

/* How many there are: nodes themselves are not kept, so that none can be asked for. */
NULL_API (int, cudaGraphGetNodes, void *handle, void **out_nodes, size_t *inout_n)
{
  static atomic_flag was_said = ATOMIC_FLAG_INIT;
  if (out_nodes != NULL)
    return null_unsupported ("cudaGraphGetNodes of single nodes", NULL_NOT_SUPPORTED,
                             &was_said);
  null_clock_lock ();
  const NullGraph *graph = find (handle);
  *inout_n = graph != NULL ? graph->n_nodes : 0;
  null_clock_unlock ();
  return null_report (graph != NULL ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

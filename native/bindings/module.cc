// The extension module `penstock.kernels._native`: it only registers the topics.
#include "bindings/module.h"

NB_MODULE(_native, module) {
  module.doc() = "Penstock's native kernels. Use them through penstock.kernels.";
  nanobind::set_leak_warnings(false);  // worker threads may outlive the interpreter's shutdown, with references
  penstock::bindings::bind_permute(module);
  penstock::bindings::bind_gather(module);
  penstock::bindings::bind_random(module);
  penstock::bindings::bind_rows(module);
  penstock::bindings::bind_numbers(module);
  penstock::bindings::bind_pool(module);
  penstock::bindings::bind_cached_rows(module);
  penstock::bindings::bind_clocks(module);
  penstock::bindings::bind_dicts(module);
  penstock::bindings::bind_arrays(module);
  penstock::bindings::bind_results(module);
  penstock::bindings::bind_containers(module);
  penstock::bindings::bind_kept(module);
  penstock::bindings::bind_files(module);
  penstock::bindings::bind_audio(module);
  penstock::bindings::bind_json(module);
  penstock::bindings::bind_image(module);
  penstock::bindings::bind_pack(module);
  penstock::bindings::bind_example(module);
  penstock::bindings::bind_records(module);
  penstock::bindings::bind_example_files(module);
  penstock::bindings::bind_tar(module);
  penstock::bindings::bind_parquet(module);
}

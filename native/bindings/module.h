// One registration function for each topic, in the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

void bind_permute(nanobind::module_& module);
void bind_gather(nanobind::module_& module);
void bind_random(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_numbers(nanobind::module_& module);
void bind_pool(nanobind::module_& module);
void bind_cached_rows(nanobind::module_& module);
void bind_clocks(nanobind::module_& module);
void bind_dicts(nanobind::module_& module);
void bind_arrays(nanobind::module_& module);
void bind_containers(nanobind::module_& module);
void bind_kept(nanobind::module_& module);
void bind_files(nanobind::module_& module);
void bind_audio(nanobind::module_& module);
void bind_json(nanobind::module_& module);
void bind_image(nanobind::module_& module);
void bind_pack(nanobind::module_& module);
void bind_example(nanobind::module_& module);
void bind_example_files(nanobind::module_& module);
void bind_results(nanobind::module_& module);
void bind_records(nanobind::module_& module);
void bind_tar(nanobind::module_& module);
void bind_parquet(nanobind::module_& module);

}  // namespace penstock::bindings

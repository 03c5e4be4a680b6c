/* Computes how the code of an ELF file is changed in memory.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_CHANGES_H
#define RECORD_FUNCMETER_CHANGES_H

#include "base/buffer.h"
#include "record/funcmeter/module.h"
#include "record/funcmeter/shared.h"

/* Returns the size of the pool that the hooks of MODULE need [bytes]. */
uint64_t changes_pool_size(const struct module *module);

/* Returns the number of patches. */
size_t changes_count(const struct module *module);

/* Appends to REPLY the patches, thunks and bytes of the pool for MODULE, which is loaded as REQUEST describes. */
void changes_add(const struct module *module, const struct meter_request *request,
                 struct buffer *reply);

#endif

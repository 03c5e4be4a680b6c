/* The kind of the PMU value of a sample, in raw profiles and in pbin.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PMU_KIND_H
#define FORMATS_PBIN_PMU_KIND_H

enum pmu_kind { PMU_NONE, PMU_CURRENT, PMU_VOLTAGE, PMU_POWER, PMU_CUSTOM };

/* The name of KIND: "none", "current", "voltage", "power" or "custom"; and the inverse, which
 * returns -1 for any other name. */
const char *pmu_kind_name(enum pmu_kind kind);
int pmu_kind_parse(const char *name);

#endif

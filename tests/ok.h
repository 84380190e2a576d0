/*
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/status.h"

#define OK(call) g_assert_cmpint ((call), ==, TESSERA_OK)

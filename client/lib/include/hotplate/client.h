// The C++ client library of Hotplate, as installed: find_package(Hotplate), link Hotplate::client, include this.
#pragma once

#include "client/lib/client.h"
#include "client/lib/job_handle.h"

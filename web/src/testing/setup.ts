/** Before every test file of the page. */

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

// On a machine at work the first look at a page takes longer than the library's one second: its code is loaded then.
configure({ asyncUtilTimeout: 4_000 });

afterEach(cleanup);

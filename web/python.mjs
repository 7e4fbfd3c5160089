// For pages whose own code is Python in Pyodide: `onetake.browser.create_voice` loads this file by a script element,
// since Python can import no module without eval, and takes what it needs from here.

import { WEB } from "./shared.mjs";

globalThis.onetakeWeb = WEB;

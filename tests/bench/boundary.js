// Runs before the page. Counts what passes between JavaScript and Python, and knows Python's memory.
//
// Counted into JavaScript: every attribute of a JS object that is read, written or removed, every call of a JS function
// and every construction. Into Python: every call of a Python function, those by events, timers and promises among
// them. What converts arguments and results belongs to its call and is not counted.
(() => {
  const INTO_JS = /^(JsProxy_(GetAttr|SetAttr|DelAttr)_js|JsvFunction_(Call|Construct)|JsvObject_CallMethod)/;
  const INTO_PYTHON = "_pyproxy_apply";
  let memory = null;
  const boundary = (window.boundary = { intoJs: 0, intoPython: 0, bytes: () => memory.buffer.byteLength });
  const counted = new Map();

  function counting(call, name) {
    const count = (...values) => {
      boundary[name]++;
      return call(...values);
    };
    counted.set(count, call);
    return count;
  }

  // Wasm's own table takes only what is Wasm's own.
  const { set } = WebAssembly.Table.prototype;
  WebAssembly.Table.prototype.set = function (index, call) {
    return set.call(this, index, counted.get(call) ?? call);
  };

  function wrapped(imports) {
    const env = { ...imports.env };
    for (const [name, call] of Object.entries(env)) {
      if (typeof call === "function" && INTO_JS.test(name)) env[name] = counting(call, "intoJs");
    }
    return { ...imports, env };
  }

  function known(instance) {
    memory = instance.exports.memory;
    return { exports: { ...instance.exports, [INTO_PYTHON]: counting(instance.exports[INTO_PYTHON], "intoPython") } };
  }

  for (const name of ["instantiate", "instantiateStreaming"]) {
    const real = WebAssembly[name];
    WebAssembly[name] = async (source, imports) => {
      const isPyodide = Boolean(imports?.env?.JsProxy_GetAttr_js);
      const found = await real.call(WebAssembly, source, isPyodide ? wrapped(imports) : imports);
      if (!isPyodide) return found;
      return found instanceof WebAssembly.Instance ? known(found) : { module: found.module, instance: known(found.instance) };
    };
  }
  const { promising } = WebAssembly;
  if (promising) WebAssembly.promising = (call) => counting(promising(call), "intoPython");
})();

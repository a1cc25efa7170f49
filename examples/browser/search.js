// Exact search with WebGPU: the kernel that Vectis prints computes the squared distance of every vector in fp32, and
// what may be among the k nearest by the bound of its error is computed again in double precision, as Vectis does it.

const element = (id) => document.getElementById(id);
const whole = (number) => number.toLocaleString("en");

async function fetched(name, kind) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}; write the data first: example_browser FOLDER`);
  return answer[kind]();
}

async function load() {
  const [wgsl, vectors, queries, facts] = await Promise.all([
    fetched("squared_distance.wgsl", "text"), fetched("vectors.f32", "arrayBuffer"),
    fetched("queries.f32", "arrayBuffer"), fetched("answers.json", "json")]);
  return { wgsl, vectors: new Float32Array(vectors), queries: new Float32Array(queries), ...facts };
}

// The buffers of the kernel, bound once; a search changes one number of them.
class Scan {
  static async open(data) {
    const adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) throw new Error("this browser has no WebGPU adapter");
    const device = await adapter.requestDevice();
    const module = device.createShaderModule({ code: data.wgsl });
    const wrong = (await module.getCompilationInfo()).messages.filter((message) => message.type === "error");
    if (wrong.length > 0) throw new Error(`the kernel does not compile: ${wrong[0].message}`);
    const pipeline = await device.createComputePipelineAsync({
      layout: "auto", compute: { module, entryPoint: data.entry_point } });
    return new Scan(adapter, device, pipeline, data);
  }

  constructor(adapter, device, pipeline, data) {
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    Object.assign(this, { adapter, device, pipeline, data });
    const buffer = (size, usage) => device.createBuffer({ size, usage });
    const uploaded = (numbers) => {
      const made = buffer(numbers.byteLength, STORAGE | COPY_DST);
      device.queue.writeBuffer(made, 0, numbers);
      return made;
    };
    this.sums = buffer(data.rows * 4, STORAGE | COPY_SRC);
    this.numbers = buffer(32, UNIFORM | COPY_DST);
    this.landed = buffer(data.rows * 4, MAP_READ | COPY_DST);
    const bound = [uploaded(data.vectors), uploaded(data.queries), this.sums, this.numbers];
    this.group = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: bound.map((made, binding) => ({ binding, resource: { buffer: made } })) });
  }

  // How many elements, the sizes of both tables, and the function's own arguments.
  async squaredDistances(query) {
    const { rows, dim, vectors, queries, group, elements_per_item } = this.data;
    this.device.queue.writeBuffer(this.numbers, 0, new Uint32Array([rows, vectors.length, queries.length, dim, query]));
    const commands = this.device.createCommandEncoder();
    const pass = commands.beginComputePass();
    pass.setPipeline(this.pipeline);
    pass.setBindGroup(0, this.group);
    pass.dispatchWorkgroups(Math.ceil(rows / (group * elements_per_item)));
    pass.end();
    commands.copyBufferToBuffer(this.sums, 0, this.landed, 0, rows * 4);
    this.device.queue.submit([commands.finish()]);
    await this.landed.mapAsync(GPUMapMode.READ);
    const sums = new Float32Array(this.landed.getMappedRange()).slice();
    this.landed.unmap();
    return sums;
  }
}

// In the order of the coordinates, without fused steps: the truth of Vectis, bit by bit.
function distance(data, query, row) {
  let sum = 0;
  for (let i = 0; i < data.dim; ++i) {
    const difference = data.queries[query * data.dim + i] - data.vectors[row * data.dim + i];
    sum += difference * difference;
  }
  return Math.sqrt(sum);
}

// A sum of squares in fp32 is off by less than this share of itself, in whatever order it is added up.
const errorShare = (dim) => (dim + 8) * 2 ** -23;

async function search(scan, query) {
  const { data } = scan;
  const begin = performance.now();
  const sums = await scan.squaredDistances(query);
  const kth = sums.slice().sort()[data.k - 1];
  const share = errorShare(data.dim);
  const limit = kth * (1 + share) / (1 - share) + 2 ** -100;
  const hits = [];
  for (let id = 0; id < data.rows; ++id) {
    if (sums[id] <= limit) hits.push({ id, distance: distance(data, query, id) });
  }
  hits.sort((a, b) => a.distance - b.distance || a.id - b.id);
  return { hits: hits.slice(0, data.k), ranked: hits.length, milliseconds: performance.now() - begin };
}

const median = (numbers) => numbers.slice().sort((a, b) => a - b)[numbers.length >> 1];

function show(data, query, found) {
  element("which").textContent = `query ${query + 1} of ${data.answers.length}`;
  element("hits").replaceChildren(...found.hits.map((hit, place) => {
    const truth = data.answers[query][place];
    const row = document.createElement("tr");
    for (const text of [place + 1, whole(hit.id), hit.distance.toFixed(6), `${whole(truth.id)}  ✓`]) {
      row.appendChild(document.createElement("td")).textContent = text;
    }
    if (truth.id !== hit.id) row.lastChild.textContent = `${whole(truth.id)}  ✗`;
    row.lastChild.className = truth.id === hit.id ? "good" : "bad";
    return row;
  }));
}

function summary(data, scan, found) {
  const places = found.flatMap((one, query) => one.hits.map((hit, place) => [hit, data.answers[query][place]]));
  const { vendor, architecture, description } = scan.adapter.info;
  return {
    rows: data.rows, dim: data.dim, k: data.k, queries: found.length,
    adapter: [vendor, architecture, description].filter(Boolean).join(" "),
    milliseconds: median(found.map((one) => one.milliseconds)),
    fastest: Math.min(...found.map((one) => one.milliseconds)),
    ranked: median(found.map((one) => one.ranked)),
    recall: found.flatMap((one, query) =>
      one.hits.filter((hit) => data.answers[query].some((truth) => truth.id === hit.id))).length / places.length,
    equal_ids: places.filter(([hit, truth]) => hit.id === truth.id).length,
    equal_distances: places.filter(([hit, truth]) => hit.distance === truth.distance).length,
    places: places.length,
  };
}

function showSummary(result) {
  const right = result.equal_ids === result.places;
  element("about").textContent = `${whole(result.rows)} vectors of ${result.dim} numbers, the ${result.k} nearest of ` +
    `${result.queries} queries. The kernel is the WGSL that Vectis prints.`;
  element("time").textContent = `${result.milliseconds.toFixed(1)} ms`;
  element("times").textContent = `median; fastest ${result.fastest.toFixed(1)} ms`;
  element("recall").textContent = result.recall.toFixed(4);
  element("recall").className = right ? "good" : "bad";
  element("equal").textContent = `${result.equal_ids} of ${result.places} ids as on this processor`;
  element("ranked").textContent = whole(result.ranked);
  element("device").textContent = `WebGPU adapter: ${result.adapter || "unnamed"}`;
}

async function main() {
  const data = await load();
  const scan = await Scan.open(data);
  await search(scan, 0);  // the first one also compiles
  const found = [];
  for (let query = 0; query < data.answers.length; ++query) found.push(await search(scan, query));
  const result = summary(data, scan, found);
  showSummary(result);
  let query = 0;
  show(data, query, found[query]);
  element("next").disabled = false;
  element("next").onclick = async () => {
    query = (query + 1) % data.answers.length;
    show(data, query, await search(scan, query));
  };
  return result;
}

// `?report`: whoever serves the page is told what came of it.
const told = (result) => new URLSearchParams(location.search).has("report") &&
  fetch("report", { method: "POST", body: JSON.stringify(result) });
main().then(told, (error) => {
  element("about").textContent = `It failed: ${error.message}`;
  element("about").className = "bad";
  return told({ error: error.message });
});

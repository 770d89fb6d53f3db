import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { readCpuTimeMs, quantile } from "../../../bench/measure.ts";
import { expectedDeltas, createSharedClock, toolName } from "./deltas.ts";
import { StreamReader } from "./stream-reader.ts";
import { formatModelName, wirePaths, type StreamShape, type Wire } from "./streams.ts";

/*
 * The clients of the benchmark, in a separate process. It receives a LoadOrder from its parent, reads and checks every
 * stream, and sends back a LoadResult or an error message.
 */

export interface LoadOrder {
  port: number;
  wire: Wire;
  headers: Record<string, string>;
  /** Prefix of the model name, such as `up/`. */
  modelPrefix: string;
  shape: StreamShape;
  /** Number of streams open at the same time; in total for held streams. */
  streams: number;
  /** The processes whose CPU time is measured. */
  pids: readonly number[];
  run: LoadRun;
  /** True if the gateway stores the responses; default false. */
  stores?: boolean;
}

export type LoadRun =
  /** Every stream that ends is followed by a new one, for `duration` milliseconds. Everything counts. */
  | { mode: "flat"; duration: number }
  /**
   * Streams start one after another within `ramp` milliseconds. Only the window in which all are open counts; then "open"
   * is sent, and a message awaited before they are read to their end.
   */
  | { mode: "paced"; ramp: number; window: number }
  /** At each of these numbers of open streams, "open" is sent, and a message awaited before continuing. */
  | { mode: "held"; stops: readonly number[] };

export interface LoadResult {
  streams: number;
  /** Deltas during the measurement; CPU time and elapsed time in milliseconds. */
  chunks: number;
  cpu: number;
  elapsed: number;
  /** Milliseconds between sending and receiving each of these deltas. */
  lag: Quantiles;
  /** Milliseconds from each request to the first byte of its stream. */
  firstByte: Quantiles;
}

export interface Quantiles {
  p50: number;
  p99: number;
}

const clock = createSharedClock();

process.on("message", (order: LoadOrder | "continue") => {
  if (order === "continue") return;
  runLoad(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit());

async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const load = new Load(order);
  try {
    const taken = await runs[order.run.mode](load, order);
    return {
      streams: load.firstBytes.length,
      ...taken,
      firstByte: computeQuantiles(load.firstBytes),
    };
  } finally {
    load.close();
  }
}

type LoadMeasurement = Pick<LoadResult, "chunks" | "cpu" | "elapsed" | "lag">;

const runs: Record<LoadRun["mode"], (load: Load, order: LoadOrder) => Promise<LoadMeasurement>> = {
  async flat(load, { streams, run }) {
    const take = load.stopwatch();
    const until = performance.now() + (run.mode === "flat" ? run.duration : 0);
    const again = async () => {
      do await load.stream();
      while (performance.now() < until);
    };
    await Promise.all(Array.from({ length: streams }, again));
    return take();
  },

  async paced(load, { streams, run }) {
    if (run.mode !== "paced") throw new Error("not a paced run");
    const step = run.ramp / streams;
    const all = Promise.all(
      Array.from({ length: streams }, async (_, nth) => {
        await wait(nth * step);
        await load.stream();
      }),
    );
    const measured = async () => {
      while (load.firstBytes.length < streams) await wait(5);
      const take = load.stopwatch();
      await wait(run.window);
      if (load.ended > 0) throw new Error("a stream ended before the window did");
      const taken = take();
      if (!load.closed) await pause();
      return taken;
    };
    const [taken] = await Promise.all([measured(), all]);
    return taken;
  },

  async held(load, { run }) {
    if (run.mode !== "held") throw new Error("not a held run");
    const take = load.stopwatch();
    const failures: unknown[] = [];
    const open: Promise<void>[] = [];
    const openOne = () =>
      open.push(
        load.stream().catch((error: unknown) => {
          failures.push(error);
        }),
      );
    for (const stop of run.stops) {
      // In batches: this measures open streams, not a burst of requests.
      while (open.length < stop && failures.length === 0) {
        for (let nth = 0; nth < 50 && open.length < stop; nth += 1) openOne();
        while (load.firstBytes.length < open.length && failures.length === 0) await wait(2);
      }
      if (failures.length > 0) throw failures[0] as Error;
      await pause();
    }
    await Promise.all(open);
    if (failures.length > 0) throw failures[0] as Error;
    return take();
  },
};

/** Waits while the parent measures the open streams or ends them. */
async function pause(): Promise<void> {
  process.send?.("open");
  await once(process, "message");
}

class Load {
  readonly firstBytes: number[] = [];
  readonly lags: number[] = [];
  chunks = 0;
  ended = 0;
  closed = false;

  readonly #order: LoadOrder;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: Infinity });
  readonly #body: string;
  readonly #expected: readonly string[];

  constructor(order: LoadOrder) {
    this.#order = order;
    this.#body = JSON.stringify(requestBody(order));
    this.#expected = expectedDeltas(order.shape.kind, order.shape.chunks);
  }

  /** Sends one request and reads its stream. Fails if the stream is not complete. */
  stream(): Promise<void> {
    const { port, wire, headers } = this.#order;
    return new Promise((resolve, reject) => {
      const started = performance.now();
      const clientRequest = request(
        {
          host: "127.0.0.1",
          port,
          method: "POST",
          path: wirePaths[wire],
          agent: this.#agent,
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(this.#body),
            accept: "text/event-stream",
            authorization: "Bearer bench",
            ...headers,
          },
        },
        (response) => this.#read(response, started, resolve, reject),
      );
      clientRequest.on("error", reject);
      clientRequest.end(this.#body);
    });
  }

  stopwatch(): () => LoadMeasurement {
    const { pids } = this.#order;
    const before = {
      chunks: this.chunks,
      cpu: readCpuTimeMs(pids),
      at: performance.now(),
    };
    return () => ({
      chunks: this.chunks - before.chunks,
      cpu: readCpuTimeMs(pids) - before.cpu,
      elapsed: performance.now() - before.at,
      lag: computeQuantiles(this.lags.slice(before.chunks)),
    });
  }

  close(): void {
    this.closed = true;
    this.#agent.destroy();
  }

  #read(
    response: IncomingMessage,
    started: number,
    resolve: () => void,
    reject: (error: Error) => void,
  ): void {
    const reader = new StreamReader(this.#order.wire, this.#expected);
    let failure = "";
    let hasStarted = false;
    response.on("data", (bytes: Buffer) => {
      if (response.statusCode !== 200) {
        failure += bytes.toString();
        return;
      }
      if (!hasStarted) {
        hasStarted = true;
        this.firstBytes.push(performance.now() - started);
      }
      const before = reader.chunks;
      reader.read(bytes, clock(), this.lags);
      this.chunks += reader.chunks - before;
    });
    response.on("error", reject);
    response.on("end", () => {
      this.ended += 1;
      if (response.statusCode !== 200)
        return reject(new Error(`status ${response.statusCode}: ${failure.slice(0, 500)}`));
      const problem = reader.problem();
      if (problem === undefined) resolve();
      else reject(new Error(problem));
    });
  }
}

/** As long as a short conversation with a system prompt. */
function requestBody({ wire, modelPrefix, shape, stores = false }: LoadOrder): object {
  const model = modelPrefix + formatModelName(shape);
  const question = "Write down what you see, word by word.";
  const parameters = {
    type: "object",
    properties: { content: { type: "string", description: "What to write." } },
    required: ["content"],
  };
  const tool = { name: toolName, description: "Writes a file.", parameters };
  const tools = shape.kind === "tools";
  if (wire === "chat")
    return {
      model,
      messages: [
        { role: "system", content: systemPrompt },
        { role: "user", content: question },
      ],
      ...(tools ? { tools: [{ type: "function", function: tool }] } : {}),
      stream: true,
      stream_options: { include_usage: true },
    };
  if (wire === "messages")
    return {
      model,
      max_tokens: 4096,
      system: systemPrompt,
      messages: [{ role: "user", content: question }],
      ...(tools
        ? { tools: [{ name: toolName, description: tool.description, input_schema: parameters }] }
        : {}),
      stream: true,
    };
  return {
    model,
    instructions: systemPrompt,
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: question }] }],
    ...(tools ? { tools: [{ type: "function", ...tool, strict: false }] } : {}),
    stream: true,
    store: stores,
  };
}

const systemPrompt = "You are a careful assistant that answers in plain words. ".repeat(40);

function computeQuantiles(values: readonly number[]): Quantiles {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

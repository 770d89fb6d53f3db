import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BenchEnvironment } from "../../../bench/processes.ts";
import { startBenchProcesses } from "./bench-processes.ts";
import { startTarget, targets } from "./targets.ts";

/*
 * node --conditions=@deltawire/source packages/gateway/bench/profile.ts [--target translate|chat|responses|pipe]
 *   [--kind text|tools] [--paced] [--seconds 10] [--top 25] [--keep FILE.cpuprofile]
 *
 * Profiles one target: self time by function.
 */

const { values: options } = parseArgs({
  options: {
    target: { type: "string", default: "translate" },
    kind: { type: "string", default: "text" },
    paced: { type: "boolean", default: false },
    seconds: { type: "string", default: "10" },
    top: { type: "string", default: "25" },
    keep: { type: "string" },
  },
});

interface Profile {
  /** Microseconds, on the clock of process.hrtime. */
  startTime: number;
  nodes: { id: number; callFrame: CallFrame }[];
  samples: number[];
  timeDeltas: number[];
}

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}

const target = targets.find(({ name }) => name === options.target);
if (target === undefined || target.name === "nginx") throw new Error(`no target ${options.target}`);
const kind = options.kind === "tools" ? "tools" : "text";
const milliseconds = Number(options.seconds) * 1000;

const environment = new BenchEnvironment();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    environment.close();
    process.exit(1);
  });
try {
  const folder = join(environment.folder, "profile");
  const processes = await startBenchProcesses(environment);
  const running = await startTarget(
    environment,
    {
      ...target,
      command(address) {
        const [node = "", ...rest] = target.command(address);
        return [node, "--cpu-prof", "--cpu-prof-interval=200", `--cpu-prof-dir=${folder}`, ...rest];
      },
    },
    processes.upstreamPort,
  );
  const from = readMicroseconds();
  const { chunks, cpu, elapsed } = await processes.runLoad(
    running,
    options.paced
      ? {
          shape: { kind, chunks: Math.ceil(milliseconds / 40) + 200, pace: 40 },
          streams: 200,
          run: { mode: "paced", ramp: 400, window: milliseconds },
        }
      : {
          shape: { kind, chunks: 1000, pace: 0 },
          streams: 20,
          run: { mode: "flat", duration: milliseconds },
        },
  );
  const to = readMicroseconds();
  await environment.stop(running.started, 20_000);
  const [file] = readdirSync(folder);
  const text = readFileSync(join(folder, file ?? ""), "utf8");
  if (options.keep !== undefined) writeFileSync(options.keep, text);
  console.log(
    `${target.title}, ${kind}, ${options.paced ? "200 paced streams" : "20 streams flat out"}: ` +
      `${((cpu / chunks) * 1000).toFixed(2)} µs of CPU per chunk, ` +
      `${((chunks / elapsed) * 1000).toFixed(0)} chunks/s (with the profiler on)`,
  );
  printTop(JSON.parse(text) as Profile, { from, to }, chunks);
} finally {
  environment.close();
}

function readMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function printTop(
  { startTime, nodes, samples, timeDeltas }: Profile,
  { from, to }: { from: number; to: number },
  chunks: number,
): void {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, formatFrame(callFrame)]));
  const own = new Map<string, number>();
  let index = startTime;
  samples.forEach((id, nth) => {
    const time = timeDeltas[nth] ?? 0;
    index += time;
    if (index < from || index > to) return;
    const name = frames.get(id) ?? "?";
    own.set(name, (own.get(name) ?? 0) + time);
  });
  own.delete("(idle)");
  const busy = [...own.values()].reduce((sum, time) => sum + time, 0);
  console.log("   share  µs/chunk  function");
  for (const [name, time] of [...own]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, Number(options.top)))
    console.log(
      `  ${((time / busy) * 100).toFixed(1).padStart(5)}%  ${(time / chunks).toFixed(3).padStart(8)}  ${name}`,
    );
}

function formatFrame({ functionName, url, lineNumber }: CallFrame): string {
  if (url === "") return functionName === "" ? "(anonymous, native)" : functionName;
  const file = url.replace(/^.*\/(?=packages\/|node_modules\/)/, "");
  return `${functionName === "" ? "(anonymous)" : functionName}  ${file}:${lineNumber + 1}`;
}

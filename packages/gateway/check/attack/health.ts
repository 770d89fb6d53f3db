/*
 * Asks for `/healthz` from a process of its own, so that a harness that is busy does not look like a gateway that is.
 */
import { fork } from "node:child_process";
import { request } from "node:http";
import { fileURLToPath } from "node:url";

export interface HealthFigures {
  asked: number;
  /** Wall time of the answers in milliseconds. */
  p50: number;
  p99: number;
  longest: number;
}

const everyMs = 25;
const timeoutMs = 30_000;
const stop = "stop";

/** Latencies of `/healthz` from here until `stop`. */
export function watchHealth(url: () => string): { stop(): Promise<HealthFigures> } {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(url());
  // The gateway may be started again, on another port.
  const moved = setInterval(() => child.connected && child.send(url()), 200);
  return {
    async stop() {
      clearInterval(moved);
      const measured = new Promise<HealthFigures>((resolve) => {
        child.once("message", (figures) => resolve(figures as HealthFigures));
        child.once("exit", () => resolve({ asked: 0, p50: 0, p99: 0, longest: 0 }));
      });
      if (child.connected) child.send(stop);
      const figures = await measured;
      child.kill();
      return figures;
    },
  };
}

if (import.meta.main) {
  let url: string | undefined;
  const latencies: number[] = [];
  process.on("disconnect", () => process.exit(0));
  process.on("message", (message: string) => {
    if (message !== stop) {
      const isFirst = url === undefined;
      url = message;
      if (isFirst) void poll();
      return;
    }
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
    const figures: HealthFigures = {
      asked: latencies.length,
      p50: at(0.5),
      p99: at(0.99),
      longest: at(1),
    };
    process.send?.(figures);
  });

  const poll = async (): Promise<void> => {
    const began = performance.now();
    // A gateway that gives no answer is counted where it is killed.
    if ((await ask(url ?? "")) === 200) latencies.push(performance.now() - began);
    setTimeout(() => void poll(), everyMs);
  };
}

function ask(url: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/healthz`, { agent: false, timeout: timeoutMs }, (response) => {
      response.resume();
      response.on("close", () => resolve(response.statusCode ?? 0));
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => resolve(0));
    sent.end();
  });
}

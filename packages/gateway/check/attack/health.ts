/*
 * Requests `/healthz` from a separate process, so that a busy test harness is not mistaken for a busy gateway.
 */
import { fork } from "node:child_process";
import { request } from "node:http";
import { fileURLToPath } from "node:url";

export interface HealthFigures {
  pollCount: number;
  /** Wall time of the replies in milliseconds. */
  p50: number;
  p99: number;
  longest: number;
}

const pollIntervalMs = 25;
const timeoutMs = 30_000;
const stop = "stop";

/** Measures the latency of `/healthz` until `stop` is called. */
export function watchHealth(url: () => string): { stop(): Promise<HealthFigures> } {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(url());
  // The gateway may be restarted on another port.
  const urlTimer = setInterval(() => child.connected && child.send(url()), 200);
  return {
    async stop() {
      clearInterval(urlTimer);
      const figuresPromise = new Promise<HealthFigures>((resolve) => {
        child.once("message", (figures) => resolve(figures as HealthFigures));
        child.once("exit", () => resolve({ pollCount: 0, p50: 0, p99: 0, longest: 0 }));
      });
      if (child.connected) child.send(stop);
      const figures = await figuresPromise;
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
    const sortedLatencies = latencies.toSorted((a, b) => a - b);
    const quantile = (part: number): number =>
      sortedLatencies[Math.floor(part * (sortedLatencies.length - 1))] ?? 0;
    const figures: HealthFigures = {
      pollCount: latencies.length,
      p50: quantile(0.5),
      p99: quantile(0.99),
      longest: quantile(1),
    };
    process.send?.(figures);
  });

  const poll = async (): Promise<void> => {
    const startedAt = performance.now();
    // A gateway that does not reply is counted where it is killed.
    if ((await measure(url ?? "")) === 200) latencies.push(performance.now() - startedAt);
    setTimeout(() => void poll(), pollIntervalMs);
  };
}

function measure(url: string): Promise<number> {
  return new Promise((resolve) => {
    const clientRequest = request(
      `${url}/healthz`,
      { agent: false, timeout: timeoutMs },
      (response) => {
        response.resume();
        response.on("close", () => resolve(response.statusCode ?? 0));
      },
    );
    clientRequest.on("timeout", () => clientRequest.destroy());
    clientRequest.on("error", () => resolve(0));
    clientRequest.end();
  });
}

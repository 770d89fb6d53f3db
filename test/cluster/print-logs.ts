import { afterEach } from "vitest";
import type { Cluster } from "./cluster.ts";

/** Prints what the gateways have logged if a test fails. Call it in a `describe`. */
export function printLogsAfterFailure(getCluster: () => Cluster | undefined): void {
  afterEach(({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const { name, log } of getCluster()?.processes ?? [])
      console.log(`The log of ${name}:\n${log}`);
  });
}

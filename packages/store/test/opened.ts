import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openStore, type Store, type StoreOptions } from "@deltawire/store";
import { onTestFinished } from "vitest";

/** Empty, and gone after the test. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deltawire-store-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Closed after the test. */
export async function opened(options: StoreOptions): Promise<Store> {
  const store = await openStore(options);
  onTestFinished(() => store.close());
  return store;
}

const script = fileURLToPath(new URL("store-process.ts", import.meta.url));

export interface Child {
  process: ChildProcess;
  /** What it has printed so far. */
  lines: string[];
  /** Until it has printed so many lines, or has ended. */
  printed: (count: number) => Promise<void>;
  ended: Promise<unknown>;
}

/**
 * Starts store-process.ts with the given arguments. `uid`: the child becomes this user once its code is loaded, because
 * another user may not be able to enter the folder of the repository.
 */
export function startChild(
  args: readonly string[],
  as: { command?: readonly string[]; uid?: number } = {},
): Child {
  const node = [process.execPath, "--conditions=@deltawire/source", script, ...args];
  const [command = "", ...rest] = [...(as.command ?? []), ...node];
  const started = spawn(command, rest, {
    stdio: ["pipe", "pipe", "inherit"],
    ...(as.uid === undefined ? {} : { env: { ...process.env, STORE_PROCESS_UID: `${as.uid}` } }),
  });
  onTestFinished(() => void started.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const reader = createInterface(started.stdout);
  reader.on("line", (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  const ended = Promise.all([once(started, "exit"), once(reader, "close")]);
  const printed = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (lines.length >= count) resolve();
      };
      waiting.add(look);
      look();
      void ended.then(() => resolve());
    });
  return { process: started, lines, printed, ended };
}

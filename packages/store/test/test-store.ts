import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openStore, type Store, type StoreOptions } from "@deltawire/store";
import { onTestFinished } from "vitest";

/** Creates an empty folder that is removed after the test. */
export function createTemporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deltawire-store-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a store that is closed after the test. */
export async function openTestStore(options: StoreOptions): Promise<Store> {
  const store = await openStore(options);
  onTestFinished(() => store.close());
  return store;
}

const storeProcessScript = fileURLToPath(new URL("store-process.ts", import.meta.url));

export interface StoreProcess {
  process: ChildProcess;
  /** The lines of output so far. */
  lines: string[];
  /** Waits until it has printed this many lines or has ended. */
  waitForLines: (count: number) => Promise<void>;
  exited: Promise<unknown>;
}

/**
 * Starts store-process.ts with the given arguments. `wrapper`: a command that runs it. `uid`: the child becomes this user
 * once its code is loaded, because another user may not be able to enter the folder of the repository.
 */
export function startStoreProcess(
  args: readonly string[],
  options: { wrapper?: readonly string[]; uid?: number } = {},
): StoreProcess {
  const node = [process.execPath, "--conditions=@deltawire/source", storeProcessScript, ...args];
  const [command = "", ...rest] = [...(options.wrapper ?? []), ...node];
  const child = spawn(command, rest, {
    stdio: ["pipe", "pipe", "inherit"],
    ...(options.uid === undefined
      ? {}
      : { env: { ...process.env, STORE_PROCESS_UID: `${options.uid}` } }),
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiters = new Set<() => void>();
  const reader = createInterface(child.stdout);
  reader.on("line", (line) => {
    lines.push(line);
    for (const checkLines of waiters) checkLines();
  });
  const exited = Promise.all([once(child, "exit"), once(reader, "close")]);
  const waitForLines = (count: number) =>
    new Promise<void>((resolve) => {
      const checkLines = () => {
        if (lines.length >= count) resolve();
      };
      waiters.add(checkLines);
      checkLines();
      void exited.then(() => resolve());
    });
  return { process: child, lines, waitForLines, exited };
}

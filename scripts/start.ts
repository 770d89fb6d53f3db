// `npm start`: the gateway with the arguments that were given, and before it its page, if that is not of these sources.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { pageIsFresh } from "./build-page.ts";

const root = join(import.meta.dirname, "..");
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** With any of these words the page's address is told to nobody. */
const withoutPage = /^(?:codex|migrate|models|lessons|help|--help|-h|--version|-V|-v)$/;

// A full disk under it must not keep the gateway from starting.
process.stderr.on("error", () => undefined);
if (!process.argv.slice(2).some((word) => withoutPage.test(word)) && !isFresh()) await buildPage();
await import(pathToFileURL(join(root, "packages", "gateway", "src", "main.ts")).href);

function isFresh(): boolean {
  try {
    return pageIsFresh();
  } catch {
    // The build meets the same, and says so.
    return false;
  }
}

/** In a process of its own: the bundler would stay in the gateway's memory. Without a page the gateway serves the rest. */
async function buildPage(): Promise<void> {
  process.stderr.write("Building the page ...\n");
  const file = join(import.meta.dirname, "build-page.ts");
  const child = spawn(process.execPath, [...process.execArgv, file], {
    cwd: root,
    stdio: "ignore",
  });
  let asked: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    asked = signal;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, stop);
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  for (const signal of signals) process.removeListener(signal, stop);
  if (asked !== undefined) return leaveBy(asked);
  if (code !== 0) {
    const served = existsSync(join(root, "packages", "gateway", "page", "index.html"))
      ? "the one of an earlier build is served"
      : "a plain one is served";
    process.stderr.write(`The page cannot be built, ${served}; npm run build:page shows why.\n`);
  }
}

function leaveBy(signal: NodeJS.Signals): Promise<void> {
  process.kill(process.pid, signal);
  return new Promise(() => setTimeout(() => process.exit(1), 2000));
}

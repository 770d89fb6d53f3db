// `npm start`: builds the page if it is outdated, then runs the gateway with the given arguments.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isPageFresh } from "./build-page.ts";

const root = join(import.meta.dirname, "..");
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Commands that do not need the page. */
const commandWithoutPage = /^(?:codex|migrate|models|lessons|help|--help|-h|--version|-V|-v)$/;

// An error on stderr, such as a full disk, must not stop the gateway from starting.
process.stderr.on("error", () => undefined);
if (
  !process.argv.slice(2).some((argument) => commandWithoutPage.test(argument)) &&
  !isPageUpToDate()
)
  await buildPage();
await import(pathToFileURL(join(root, "packages", "gateway", "src", "main.ts")).href);

function isPageUpToDate(): boolean {
  try {
    return isPageFresh();
  } catch {
    // The build will report the same error.
    return false;
  }
}

/**
 * Builds the page in a separate process, because the bundler would otherwise stay in the gateway's memory. If the build
 * fails, the gateway still serves everything else.
 */
async function buildPage(): Promise<void> {
  process.stderr.write("Building the page ...\n");
  const file = join(import.meta.dirname, "build-page.ts");
  const child = spawn(process.execPath, [...process.execArgv, file], {
    cwd: root,
    stdio: "ignore",
  });
  let receivedSignal: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    receivedSignal = signal;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, stop);
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  for (const signal of signals) process.removeListener(signal, stop);
  if (receivedSignal !== undefined) return exitBySignal(receivedSignal);
  if (code !== 0) {
    const fallback = existsSync(join(root, "packages", "gateway", "page", "index.html"))
      ? "serving the previous build"
      : "serving a plain page";
    process.stderr.write(
      `Could not build the page, ${fallback}. Run npm run build:page to see the error.\n`,
    );
  }
}

function exitBySignal(signal: NodeJS.Signals): Promise<void> {
  process.kill(process.pid, signal);
  return new Promise(() => setTimeout(() => process.exit(1), 2000));
}

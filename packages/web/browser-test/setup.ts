import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { chromiumOptions } from "./chromium.ts";
import { failurePrefix, screenshotFolder } from "./screenshots.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** WebSocket URL of the shared browser. */
    browser: string;
  }
}

const root = join(import.meta.dirname, "..", "..", "..");

/** Builds the page and starts one browser for all tests. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const script = join(root, "scripts", "build-page.ts");
  const [options] = await Promise.all([
    chromiumOptions(),
    promisify(execFile)(process.execPath, ["--conditions=@deltawire/source", script]),
    prepareScreenshotFolder(),
  ]);
  const browser = await chromium.launchServer(options);
  project.provide("browser", browser.wsEndpoint());
  return () => browser.close();
}

/** Deletes only screenshots of failed tests, because a run of a few files must not delete those of others. */
async function prepareScreenshotFolder(): Promise<void> {
  await mkdir(screenshotFolder, { recursive: true });
  const old = (await readdir(screenshotFolder)).filter((name) => name.startsWith(failurePrefix));
  await Promise.all(old.map((name) => rm(join(screenshotFolder, name), { force: true })));
}

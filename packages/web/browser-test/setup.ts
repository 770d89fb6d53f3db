import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { chromiumOptions } from "./chromium.ts";
import { ofFailure, pictures } from "./pictures.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where the browser of all tests listens. */
    browser: string;
  }
}

const root = join(import.meta.dirname, "..", "..", "..");

/** Before the first test: the page is built from these sources, and one browser runs for all of them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const script = join(root, "scripts", "build-page.ts");
  const [options] = await Promise.all([
    chromiumOptions(),
    promisify(execFile)(process.execPath, ["--conditions=@deltawire/source", script]),
    readyPictures(),
  ]);
  const browser = await chromium.launchServer(options);
  project.provide("browser", browser.wsEndpoint());
  return () => browser.close();
}

/** Others stay until they are taken again: nobody says here whether all tests run or a few. */
async function readyPictures(): Promise<void> {
  await mkdir(pictures, { recursive: true });
  const old = (await readdir(pictures)).filter((name) => name.startsWith(ofFailure));
  await Promise.all(old.map((name) => rm(join(pictures, name), { force: true })));
}

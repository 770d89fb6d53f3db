import { join } from "node:path";

/** Folder of the tests' screenshots, stored by CI. */
export const screenshotFolder = join(import.meta.dirname, "..", "..", "..", "artifacts", "page");

/** Name prefix of screenshots of failed tests, which are deleted before each run. */
export const failurePrefix = "failed-";

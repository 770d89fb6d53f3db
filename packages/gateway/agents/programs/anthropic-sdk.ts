import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent.ts";
import { buildLibraryCommand } from "./library-agent.ts";

/** The package whose tests use both versions. */
const requireFrom = join(import.meta.dirname, "..", "..", "..", "wire", "package.json");

export const anthropicSdkAgents: Agent[] = ["@anthropic-ai/sdk", "anthropic-sdk-0"].map(
  (library) => ({
    name: "anthropic-sdk",
    wire: "messages",
    version: readVersion(library),
    buildCommand: (prompt, place, isResumed) =>
      buildLibraryCommand("anthropic-sdk-agent.ts", {
        ...place,
        wire: "messages",
        prompt,
        isResumed,
        library,
        requireFrom,
      }),
  }),
);

/** Reads the pin, for example `1.8.0` or `npm:@anthropic-ai/sdk@0.137.0`. */
function readVersion(library: string): string {
  const { devDependencies } = JSON.parse(readFileSync(requireFrom, "utf8")) as {
    devDependencies: Record<string, string>;
  };
  return devDependencies[library]?.split("@").at(-1) ?? "";
}

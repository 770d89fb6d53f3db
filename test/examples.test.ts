import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./repository-files.ts";

test("whole tool calls in ten lines: a messy stream runs each tool once", () => {
  expect(outputOf("whole-tool-calls.ts")).toBe(
    [
      "run get_weather with { city: 'Paris' }",
      "run get_weather with { city: 'Rome' }",
      "run get_time with { zone: 'CET' }",
      "repaired: arguments_cumulative, call_id_minted, call_leaked, finish_corrected",
      "",
    ].join("\n"),
  );
});

function outputOf(example: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@deltawire/source", join("examples", example)],
    { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined } },
  );
  expect(status, stderr).toBe(0);
  return stdout;
}

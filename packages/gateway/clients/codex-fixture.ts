import { afterEach } from "vitest";
import { createCodex, type Codex, type CodexOptions } from "./codex.ts";

const openCodexes: Codex[] = [];

afterEach(async () => {
  await Promise.all(openCodexes.splice(0).map((codex) => codex.remove()));
});

/** Codex on this gateway; its folders are removed after the test. */
export async function startCodex(
  { url }: { url: string },
  model: string,
  overrides: Partial<CodexOptions> = {},
): Promise<Codex> {
  const codex = await createCodex({ url, model, ...overrides });
  openCodexes.push(codex);
  return codex;
}

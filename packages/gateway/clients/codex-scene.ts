import { afterEach } from "vitest";
import { newCodex, type Codex, type CodexOptions } from "./codex.ts";

const open: Codex[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((codex) => codex.remove()));
});

/** A Codex on this gateway; its folders are removed after the test. */
export async function codexOn(
  { url }: { url: string },
  model: string,
  more: Partial<CodexOptions> = {},
): Promise<Codex> {
  const codex = await newCodex({ url, model, ...more });
  open.push(codex);
  return codex;
}

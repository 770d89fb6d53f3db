import { malformJson } from "./malformed-requests.ts";
import type { Json } from "./valid-requests.ts";
import { formatStream, type ScriptedReply } from "./wire-replies.ts";

/** The stream of a reply with a few errors: events are missing, doubled, cut or changed, or the end is missing. */
export function malformStream(
  chance: () => number,
  wire: Parameters<typeof formatStream>[0],
  reply: ScriptedReply,
): string {
  const text = formatStream(wire, reply)
    .flatMap((block) => malformBlock(chance, block))
    .join("");
  return chance() < 0.1 ? text.slice(0, Math.floor(chance() * text.length)) : text;
}

function malformBlock(chance: () => number, block: string): string[] {
  const kind = chance();
  if (kind < 0.04) return [];
  if (kind < 0.07) return [block, block];
  if (kind < 0.09) return [block.slice(0, Math.floor(chance() * block.length))];
  if (kind > 0.35) return [block];
  const [, data = "null"] = /^data: (.*)$/m.exec(block) ?? [];
  if (data === "[DONE]") return [block];
  return [block.replace(data, () => JSON.stringify(malformJson(chance, JSON.parse(data) as Json)))];
}

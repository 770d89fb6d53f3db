import { oddJson } from "./odd-requests.ts";
import type { Json } from "./right-requests.ts";
import { streamed, type Reply } from "./wire-replies.ts";

/** The stream of a reply with a few things wrong: events are missing, doubled, cut or changed, or the end is missing. */
export function oddStream(
  chance: () => number,
  wire: Parameters<typeof streamed>[0],
  reply: Reply,
): string {
  const text = streamed(wire, reply)
    .flatMap((block) => changedBlock(chance, block))
    .join("");
  return chance() < 0.1 ? text.slice(0, Math.floor(chance() * text.length)) : text;
}

function changedBlock(chance: () => number, block: string): string[] {
  const kind = chance();
  if (kind < 0.04) return [];
  if (kind < 0.07) return [block, block];
  if (kind < 0.09) return [block.slice(0, Math.floor(chance() * block.length))];
  if (kind > 0.35) return [block];
  const [, data = "null"] = /^data: (.*)$/m.exec(block) ?? [];
  if (data === "[DONE]") return [block];
  return [block.replace(data, () => JSON.stringify(oddJson(chance, JSON.parse(data) as Json)))];
}

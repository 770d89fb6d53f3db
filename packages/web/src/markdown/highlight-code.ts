import type { HLJSApi } from "highlight.js";
import { useEffect, useState } from "react";
import { PieceHighlighter, type Token } from "./code-tokens.ts";
import { whenIdle } from "../browser/frames.ts";
import { languageKey, loadLanguage } from "./languages.ts";
import type { TextPieces } from "../texts/text-pieces.ts";

/** A longer code stays without colours. */
const mostPieces = 50;

/** Tells the tokens of one piece after the other, while nothing else is to do. What it returns stops it. */
function highlightCode(
  language: string,
  pieces: readonly string[],
  tell: (tokens: Token[]) => void,
): () => void {
  const key = languageKey(language);
  if (key === undefined || pieces.length > mostPieces) return () => {};
  let stop = () => {};
  let isStopped = false;
  const start = (hljs: HLJSApi) => {
    const highlighter = new PieceHighlighter(hljs, key);
    const step = (at: number) => {
      const piece = pieces[at];
      if (isStopped || piece === undefined) return;
      stop = whenIdle(() => {
        tell(highlighter.next(piece));
        step(at + 1);
      });
    };
    step(0);
  };
  // Without the language the code is shown as it is.
  knowing(key).then(start, () => {});
  return () => {
    isStopped = true;
    stop();
  };
}

const known = new Map<string, Promise<HLJSApi>>();

/** Asked for once: each `import()` looks through the document for what it has to load. */
function knowing(key: string): Promise<HLJSApi> {
  const loading = known.get(key) ?? load(key);
  known.set(key, loading);
  loading.catch(() => known.delete(key));
  return loading;
}

async function load(key: string): Promise<HLJSApi> {
  const [{ default: hljs }, languages] = await Promise.all([
    import("highlight.js/lib/core"),
    loadLanguage(key),
  ]);
  for (const one of languages)
    if (hljs.getLanguage(one.key) === undefined) hljs.registerLanguage(one.key, one.language);
  return hljs;
}

/** The tokens of a code's pieces, as far as they are known. While it grows it has no colours, and keeps still. */
export function useHighlighted(
  language: string,
  code: TextPieces,
  closed: boolean,
): readonly (readonly Token[])[] {
  const [known, setKnown] = useState<{ code: TextPieces; tokens: Token[][] }>();
  useEffect(() => {
    if (!closed) return undefined;
    return highlightCode(language, code.pieces, (tokens) =>
      setKnown((before) => ({
        code,
        tokens: before?.code === code ? [...before.tokens, tokens] : [tokens],
      })),
    );
  }, [language, code, closed]);
  return known?.code === code ? known.tokens : none;
}

const none: readonly (readonly Token[])[] = [];

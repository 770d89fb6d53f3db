import type { HLJSApi } from "highlight.js";
import { useEffect, useState } from "react";
import { PieceHighlighter, type CodeToken } from "./code-tokens.ts";
import { runWhenIdle } from "../browser/frame-scheduler.ts";
import { findLanguageKey, loadLanguage } from "./languages.ts";
import type { TextPieces } from "../text/split-text.ts";

/** Longer code is not highlighted. */
const maxPieces = 50;

/** Highlights one piece after the other while the page is idle. Returns a function that stops it. */
function highlightCode(
  language: string,
  pieces: readonly string[],
  onTokens: (tokens: CodeToken[]) => void,
): () => void {
  const key = findLanguageKey(language);
  if (key === undefined || pieces.length > maxPieces) return () => {};
  let stop = () => {};
  let isStopped = false;
  const start = (hljs: HLJSApi) => {
    const highlighter = new PieceHighlighter(hljs, key);
    const step = (index: number) => {
      const piece = pieces[index];
      if (isStopped || piece === undefined) return;
      stop = runWhenIdle(() => {
        onTokens(highlighter.next(piece));
        step(index + 1);
      });
    };
    step(0);
  };
  // If the language cannot be loaded, the code is not highlighted.
  loadHighlighter(key).then(start, () => {});
  return () => {
    isStopped = true;
    stop();
  };
}

const loadedLanguages = new Map<string, Promise<HLJSApi>>();

/** Cached, because each `import()` searches the document for modules to preload. */
function loadHighlighter(key: string): Promise<HLJSApi> {
  const loading = loadedLanguages.get(key) ?? loadLanguageModules(key);
  loadedLanguages.set(key, loading);
  loading.catch(() => loadedLanguages.delete(key));
  return loading;
}

async function loadLanguageModules(key: string): Promise<HLJSApi> {
  const [{ default: hljs }, languages] = await Promise.all([
    import("highlight.js/lib/core"),
    loadLanguage(key),
  ]);
  for (const { key: name, language } of languages)
    if (hljs.getLanguage(name) === undefined) hljs.registerLanguage(name, language);
  return hljs;
}

/** Returns the tokens of the pieces highlighted so far. Code that still grows is not highlighted, to avoid flicker. */
export function useHighlightedCode(
  language: string,
  code: TextPieces,
  closed: boolean,
): readonly (readonly CodeToken[])[] {
  const [highlightedCode, setHighlightedCode] = useState<{
    code: TextPieces;
    tokens: CodeToken[][];
  }>();
  useEffect(() => {
    if (!closed) return undefined;
    return highlightCode(language, code.pieces, (tokens) =>
      setHighlightedCode((previous) => ({
        code,
        tokens: previous?.code === code ? [...previous.tokens, tokens] : [tokens],
      })),
    );
  }, [language, code, closed]);
  return highlightedCode?.code === code ? highlightedCode.tokens : noTokens;
}

const noTokens: readonly (readonly CodeToken[])[] = [];

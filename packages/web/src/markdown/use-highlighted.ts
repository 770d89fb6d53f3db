import { useEffect, useState } from "react";
import type { TextPieces } from "../texts/text-pieces.ts";
import type { Token } from "./code-tokens.ts";
import { highlightCode } from "./highlight-code.ts";

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

import { memo, useEffect, useRef, useState } from "react";
import { textPieces, type TextPieces } from "../answer/text-pieces.ts";
import { Button } from "../parts/button.tsx";
import { useWords } from "../words/words.ts";
import type { Token } from "./code-tokens.ts";
import { languageName } from "./languages.ts";
import { useHighlighted } from "./use-highlighted.ts";
import { useScrolls } from "./use-scrolls.ts";
import { markdownWords } from "./words.ts";
import { writeToClipboard } from "../parts/write-to-clipboard.ts";

interface CodeBlockProps {
  language: string;
  text: string;
  closed: boolean;
}

/** In pieces, of which only the last is drawn again while the code grows; with colours when it has ended. */
export const CodeBlock = memo(function CodeBlock({ language, text, closed }: CodeBlockProps) {
  const words = useWords(markdownWords);
  const [grow] = useState(remembering);
  const [wraps, setWraps] = useState(false);
  const { ref, scrolls } = useScrolls();
  const grown = grow(text);
  const colours = useHighlighted(language, grown, closed);
  const name = languageName(language);
  return (
    <figure className="markdown-code-block">
      <figcaption>
        <span className="markdown-language">{name}</span>
        <Button small kind="ghost" aria-pressed={wraps} onClick={() => setWraps(!wraps)}>
          {words.wrap}
        </Button>
        <CopyButton text={text} />
      </figcaption>
      <pre
        ref={ref}
        dir="ltr"
        data-wraps={wraps || undefined}
        role={scrolls ? "group" : undefined}
        aria-label={scrolls ? (name === "" ? words.code : words.codeIn(name)) : undefined}
        tabIndex={scrolls ? 0 : undefined}
      >
        <code>
          {grown.pieces.map((piece, at) => (
            <Piece key={at} text={piece} tokens={colours[at]} />
          ))}
        </code>
      </pre>
    </figure>
  );
});

function remembering(): (text: string) => TextPieces {
  let last: TextPieces | undefined;
  return (text) => {
    last = textPieces(text, last);
    return last;
  };
}

interface PieceProps {
  text: string;
  tokens: readonly Token[] | undefined;
}

const Piece = memo(function Piece({ text, tokens }: PieceProps) {
  return (
    <span className="markdown-piece">
      {tokens === undefined ? text : <Tokens tokens={tokens} />}
    </span>
  );
});

function Tokens({ tokens }: { tokens: readonly Token[] }) {
  return tokens.map((token, at) =>
    typeof token === "string" ? (
      token
    ) : (
      <span key={at} className={token.name}>
        <Tokens tokens={token.tokens} />
      </span>
    ),
  );
}

const shownMs = 2000;

function CopyButton({ text }: { text: string }) {
  const words = useWords(markdownWords);
  const [state, setState] = useState<"copy" | "copied" | "cannotCopy">("copy");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const isCopied = await writeToClipboard(text);
    setState(isCopied ? "copied" : "cannotCopy");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("copy"), shownMs);
  };
  return (
    <>
      <Button
        small
        kind="ghost"
        icon={state === "copied" ? "check" : "copy"}
        onClick={() => void copy()}
      >
        {words[state]}
      </Button>
      <span className="for-readers" role="status">
        {state === "copy" ? "" : words[state]}
      </span>
    </>
  );
}

import { memo, useCallback, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { Mark } from "@deltawire/tasks/markdown";
import { growingPieces, markedPieces } from "../texts/text-pieces.ts";
import { Button } from "../parts/button.tsx";
import { useCopying } from "../parts/copying.ts";
import { useWords } from "../words/use-words.ts";
import type { Token } from "./code-tokens.ts";
import { MarkView } from "./inline-view.tsx";
import { languageName } from "./languages.ts";
import { useHighlighted } from "./highlight-code.ts";
import { useScrolls } from "./use-scrolls.ts";
import { markdownWords } from "./words.ts";

interface CodeBlockProps {
  language: string;
  text: string;
  closed: boolean;
  marks?: readonly Mark[] | undefined;
}

/**
 * In pieces, of which only the last is drawn again while the code grows; with colours when it has ended, or else with what is
 * marked in it.
 */
export const CodeBlock = memo(function CodeBlock({
  language,
  text,
  closed,
  marks,
}: CodeBlockProps) {
  const words = useWords(markdownWords);
  const [grow] = useState(growingPieces);
  const [wraps, setWraps] = useState(false);
  const { ref, scrolls } = useScrolls();
  const latest = useRef(text);
  const read = useCallback(() => latest.current, []);
  useLayoutEffect(() => void (latest.current = text), [text]);
  const grown = grow(text);
  const colours = useHighlighted(language, grown, closed);
  const name = languageName(language);
  return (
    <figure className="markdown-code-block">
      <Caption name={name} wraps={wraps} setWraps={setWraps} read={read} />
      <pre
        ref={ref}
        dir="ltr"
        data-wraps={wraps || undefined}
        role={scrolls ? "group" : undefined}
        aria-label={scrolls ? (name === "" ? words.code : words.codeIn(name)) : undefined}
        tabIndex={scrolls ? 0 : undefined}
      >
        <code>
          {marks === undefined
            ? grown.pieces.map((piece, at) => <Piece key={at} text={piece} tokens={colours[at]} />)
            : markedPieces(text, marks).map((piece, at) =>
                piece.marked ? <MarkView key={at}>{piece.text}</MarkView> : piece.text,
              )}
        </code>
      </pre>
    </figure>
  );
});

interface PieceProps {
  text: string;
  tokens: readonly Token[] | undefined;
}

const Piece = memo(function Piece({ text, tokens }: PieceProps) {
  return <span className="markdown-piece">{tokens === undefined ? text : tokensView(tokens)}</span>;
});

/** Elements at once, without a component for each: a piece has hundreds. */
function tokensView(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) =>
    typeof token === "string" ? (
      token
    ) : (
      <span key={at} className={token.name}>
        {tokensView(token.tokens)}
      </span>
    ),
  );
}

interface CaptionProps {
  name: string;
  wraps: boolean;
  setWraps: (wraps: boolean) => void;
  /** The code as it is now: it is not drawn again whenever that grows. */
  read: () => string;
}

const Caption = memo(function Caption({ name, wraps, setWraps, read }: CaptionProps) {
  const words = useWords(markdownWords);
  const { state, copy } = useCopying(read);
  return (
    <figcaption>
      <span className="markdown-language">{name}</span>
      <Button small kind="ghost" aria-pressed={wraps} onClick={() => setWraps(!wraps)}>
        {words.wrap}
      </Button>
      <Button small kind="ghost" icon={state === "copied" ? "check" : "copy"} onClick={copy}>
        {words[state]}
      </Button>
      <span className="for-readers" role="status">
        {state === "copy" ? "" : words[state]}
      </span>
    </figcaption>
  );
});

import { memo, useCallback, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { MarkRange } from "@deltawire/tasks/markdown";
import { createStreamingSplitter, splitByMarks } from "../text/split-text.ts";
import { Button } from "../ui/button.tsx";
import { useCopyButton } from "../ui/use-copy-button.ts";
import { useMessages } from "../messages/use-messages.ts";
import type { CodeToken } from "./code-tokens.ts";
import { MarkView } from "./render-inline.tsx";
import { formatLanguageName } from "./languages.ts";
import { useHighlightedCode } from "./highlight-code.ts";
import { useIsScrollable } from "./use-is-scrollable.ts";
import { markdownMessages } from "./messages.ts";

interface CodeBlockProps {
  language: string;
  text: string;
  closed: boolean;
  marks?: readonly MarkRange[] | undefined;
}

/**
 * Renders code in pieces, of which only the last re-renders while the code grows. Complete code is highlighted; code with
 * `marks` shows the marks instead.
 */
export const CodeBlock = memo(function CodeBlock({
  language,
  text,
  closed,
  marks,
}: CodeBlockProps) {
  const t = useMessages(markdownMessages);
  const [splitIntoPieces] = useState(createStreamingSplitter);
  const [isWrapped, setWrapped] = useState(false);
  const { ref, isScrollable } = useIsScrollable();
  const latestText = useRef(text);
  const getText = useCallback(() => latestText.current, []);
  useLayoutEffect(() => void (latestText.current = text), [text]);
  const code = splitIntoPieces(text);
  const tokensByPiece = useHighlightedCode(language, code, closed);
  const name = formatLanguageName(language);
  return (
    <figure className="markdown-code-block">
      <CodeCaption name={name} isWrapped={isWrapped} setWrapped={setWrapped} getText={getText} />
      <pre
        ref={ref}
        dir="ltr"
        data-wrapped={isWrapped || undefined}
        role={isScrollable ? "group" : undefined}
        aria-label={isScrollable ? (name === "" ? t.code : t.codeIn(name)) : undefined}
        tabIndex={isScrollable ? 0 : undefined}
      >
        <code>
          {marks === undefined
            ? code.pieces.map((piece, index) => (
                <CodePiece key={index} text={piece} tokens={tokensByPiece[index]} />
              ))
            : splitByMarks(text, marks).map((piece, index) =>
                piece.isMarked ? <MarkView key={index}>{piece.text}</MarkView> : piece.text,
              )}
        </code>
      </pre>
    </figure>
  );
});

interface CodePieceProps {
  text: string;
  tokens: readonly CodeToken[] | undefined;
}

const CodePiece = memo(function CodePiece({ text, tokens }: CodePieceProps) {
  return (
    <span className="markdown-code-piece">
      {tokens === undefined ? text : renderTokens(tokens)}
    </span>
  );
});

/** Not a component per token, because a piece has hundreds of tokens. */
function renderTokens(tokens: readonly CodeToken[]): ReactNode {
  return tokens.map((token, index) =>
    typeof token === "string" ? (
      token
    ) : (
      <span key={index} className={token.name}>
        {renderTokens(token.tokens)}
      </span>
    ),
  );
}

interface CodeCaptionProps {
  name: string;
  isWrapped: boolean;
  setWrapped: (isWrapped: boolean) => void;
  /** Returns the current code, so that the caption does not re-render while it grows. */
  getText: () => string;
}

const CodeCaption = memo(function CodeCaption({
  name,
  isWrapped,
  setWrapped,
  getText,
}: CodeCaptionProps) {
  const t = useMessages(markdownMessages);
  const { state, copy } = useCopyButton(getText);
  return (
    <figcaption>
      <span className="markdown-language">{name}</span>
      <Button small kind="ghost" aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
        {t.wrap}
      </Button>
      <Button small kind="ghost" icon={state === "copied" ? "check" : "copy"} onClick={copy}>
        {t[state]}
      </Button>
      <span className="visually-hidden" role="status">
        {state === "copy" ? "" : t[state]}
      </span>
    </figcaption>
  );
});

import { memo, useState } from "react";
import { growingPieces } from "../texts/text-pieces.ts";

interface LongTextProps {
  text: string;
  /** As code is written; else as words are. */
  mono?: boolean | undefined;
  label?: string | undefined;
}

/** Text as it is, however long it is and while it grows: only its last piece is drawn again. */
export function LongText({ text, mono, label }: LongTextProps) {
  const [grow] = useState(growingPieces);
  const { pieces } = grow(text);
  // What may scroll has to be reached by the keyboard.
  const mayScroll = pieces.length > 1 || text.length > 1000 || text.split("\n").length > 16;
  return (
    <div
      className="blocks-text"
      data-mono={mono || undefined}
      dir="auto"
      role={label === undefined ? undefined : "group"}
      aria-label={label}
      tabIndex={mayScroll ? 0 : undefined}
    >
      {pieces.map((piece, at) => (
        <Piece key={at} text={piece} />
      ))}
    </div>
  );
}

const Piece = memo(function Piece({ text }: { text: string }) {
  return <span>{text}</span>;
});

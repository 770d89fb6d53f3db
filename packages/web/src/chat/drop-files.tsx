import { useEffect, useRef, useState, type RefObject } from "react";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

interface DropFilesProps {
  /** Something within the part of the page on which files can be dropped. */
  within: RefObject<HTMLElement | null>;
  onFiles: (files: readonly File[]) => void;
}

/** Files can be dropped anywhere beside the list of chats; a veil says so. */
export function DropFiles({ within, onFiles }: DropFilesProps) {
  const words = useWords(composerWords);
  const [area, setArea] = useState<Pick<DOMRect, "left" | "top" | "width" | "height"> | undefined>(
    undefined,
  );
  const take = useRef(onFiles);
  useEffect(() => {
    take.current = onFiles;
  });
  useEffect(() => {
    const place = within.current?.closest("main") ?? document.body;
    // Entering an element comes before leaving the one around it.
    let depth = 0;
    const leave = () => {
      depth = 0;
      setArea(undefined);
    };
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth += 1;
      const { left, top, width, height } = place.getBoundingClientRect();
      setArea({ left, top, width, height });
    };
    const exit = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth -= 1;
      if (depth <= 0) leave();
    };
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      leave();
      take.current([...(event.dataTransfer?.files ?? [])]);
    };
    const listening = new AbortController();
    const { signal } = listening;
    place.addEventListener("dragenter", enter, { signal });
    place.addEventListener("dragleave", exit, { signal });
    place.addEventListener("dragover", over, { signal });
    place.addEventListener("drop", drop, { signal });
    return () => listening.abort();
  }, [within]);
  if (area === undefined) return null;
  return (
    <div className="chat-drop" style={area}>
      <p role="status">
        <Icon name="attach" />
        {words.dropHere}
      </p>
    </div>
  );
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

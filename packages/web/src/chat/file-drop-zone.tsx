import { useEffect, useRef, useState, type RefObject } from "react";
import { Icon } from "../ui/icon.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";

interface FileDropZoneProps {
  /** An element inside the drop target, which is the closest `main`. */
  anchor: RefObject<HTMLElement | null>;
  onFiles: (files: readonly File[]) => void;
}

/** Accepts dropped files anywhere in the main area, with an overlay while dragging. */
export function FileDropZone({ anchor, onFiles }: FileDropZoneProps) {
  const t = useMessages(composerMessages);
  const [area, setArea] = useState<Pick<DOMRect, "left" | "top" | "width" | "height"> | undefined>(
    undefined,
  );
  const latestOnFiles = useRef(onFiles);
  useEffect(() => {
    latestOnFiles.current = onFiles;
  });
  useEffect(() => {
    const dropTarget = anchor.current?.closest("main") ?? document.body;
    // `dragenter` of a child fires before `dragleave` of its parent, so both are counted.
    let depth = 0;
    const endDrag = () => {
      depth = 0;
      setArea(undefined);
    };
    const onDragEnter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth += 1;
      const { left, top, width, height } = dropTarget.getBoundingClientRect();
      setArea({ left, top, width, height });
    };
    const onDragLeave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth -= 1;
      if (depth <= 0) endDrag();
    };
    const onDragOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    };
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      endDrag();
      latestOnFiles.current([...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = new AbortController();
    const { signal } = listeners;
    dropTarget.addEventListener("dragenter", onDragEnter, { signal });
    dropTarget.addEventListener("dragleave", onDragLeave, { signal });
    dropTarget.addEventListener("dragover", onDragOver, { signal });
    dropTarget.addEventListener("drop", onDrop, { signal });
    return () => listeners.abort();
  }, [anchor]);
  if (area === undefined) return null;
  return (
    <div className="chat-drop" style={area}>
      <p role="status">
        <Icon name="attach" />
        {t.dropHere}
      </p>
    </div>
  );
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

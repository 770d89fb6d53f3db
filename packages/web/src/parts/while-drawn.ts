/** In so many frames all that is near has been drawn, and may be of another height than was guessed. */
const framesOfDrawing = 12;

/** Does something in each frame until what is near the view has been drawn. */
export function whileDrawn(step: () => void, frames = framesOfDrawing): void {
  if (frames === 0) return;
  requestAnimationFrame(() => {
    step();
    whileDrawn(step, frames - 1);
  });
}

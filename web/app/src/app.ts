import { ChangeDetectionStrategy, Component } from '@angular/core';

@Component({
  selector: 'et-app',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: '<h1>Evertable</h1>',
})
export class App {}
